//! Analyses held against runs of programs.

mod costs;
mod flow;
