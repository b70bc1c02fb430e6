-- Two tables without faults.
PRAGMA page_size = 512;
CREATE TABLE stations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE readings (
    id INTEGER PRIMARY KEY,
    station_id INTEGER NOT NULL REFERENCES stations(id),
    celsius REAL NOT NULL
);
CREATE INDEX readings_station ON readings(station_id);
INSERT INTO stations VALUES (1, 'ridge'), (2, 'valley');
INSERT INTO readings VALUES (1, 1, 3.5), (2, 1, 4.0), (3, 2, 9.25), (4, 2, 8.75);
