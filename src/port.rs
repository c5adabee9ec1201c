//! The one trait between the core and its host.
