//! `profile draft`: a profile for a database that none fits.

mod help;
mod homemade;
mod score;
