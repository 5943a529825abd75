"""Patients' records on a FHIR server, and what may be asked of it.

A record answers queries (GET and `_search`), whose resources a FHIRPath looks through, as
`peers.seams.PatientRecords` describes. Queries, paths and setups come from a job file, which may be
somebody else's, so they are read before anything is sent: an assertion may only read, a setup may
write the resource that it names, and neither may leave the server that the job names.

- `queries`: `parse_query(text)`, `check_write(setup)` and `record_of(queries)`. They need no
  server.
- `paths`: `check_path(text, given)` and `asks_nothing(text)`, and `Paths`, which evaluates one in a
  process of its own. They need `fhirpathpy`, of the extra `fhir`; `lacks_library()` says so.
- `server.FhirServer`: the server.

It bounds what a query may return and how long it may take.
"""
