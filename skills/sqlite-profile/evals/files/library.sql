-- A small lending library with a few faults built in.
PRAGMA page_size = 512;
PRAGMA foreign_keys = OFF;
CREATE TABLE branches (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    fax TEXT
);
CREATE TABLE books (
    id INTEGER PRIMARY KEY,
    branch_id INTEGER NOT NULL REFERENCES branches(id),
    title TEXT NOT NULL,
    pages INTEGER,
    shelf TEXT
);
CREATE INDEX books_branch ON books(branch_id);
CREATE TABLE loans (
    id INTEGER PRIMARY KEY,
    book_id INTEGER REFERENCES books(id),
    lent_on TEXT NOT NULL,
    returned_on TEXT
);
CREATE TABLE notices (
    loan_id INTEGER,
    text TEXT
);
CREATE VIEW open_loans AS SELECT * FROM loans WHERE returned_on IS NULL;
INSERT INTO branches VALUES (1, 'Harbour', NULL), (2, 'Old Mill', NULL), (3, 'Station', NULL);
INSERT INTO books VALUES
    (1, 1, 'Tides and Charts', 212, 'A1'),
    (2, 1, 'Knots for Winter', 96, ''),
    (3, 2, 'The Miller''s Almanac', 340, 'B4'),
    (4, 2, 'Stone and Flour', NULL, NULL),
    (5, 3, 'Timetables Explained', 128, 'C2'),
    (6, 3, 'Signals', -1, ''),
    (7, 1, 'Lighthouse Keeping', 275, 'A1'),
    (8, 2, 'River Mills', 188, NULL);
INSERT INTO loans VALUES
    (1, 1, '2024-02-01', '2024-02-20'),
    (2, 3, '2024-02-03', NULL),
    (3, 12, '2024-02-07', '2024-02-28'),
    (4, 5, '2024-02-11', NULL),
    (5, 15, '2024-03-01', NULL),
    (6, NULL, '2024-03-02', '2024-03-05'),
    (7, 12, '2024-03-09', NULL),
    (8, 7, '2024-03-10', '2024-03-21'),
    (9, 7, '2024-03-22', NULL),
    (10, 2, '2024-04-01', '2024-04-15');
INSERT INTO notices VALUES (2, 'first reminder'), (2, 'first reminder'), (5, 'second reminder');
