//! One connection to a server: every wait has an end.
