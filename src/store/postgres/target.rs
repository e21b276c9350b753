//! Which server, and how to prove who we are.
