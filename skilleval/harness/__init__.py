"""Everything around a model that turns a query into work done, within limits."""
