//! Any bytes as the plugin's configuration.

#![no_main]

use libfuzzer_sys::fuzz_target;

use weir::core::config::Config;

fuzz_target!(|data: &[u8]| {
    match Config::parse(data) {
        Ok(config) => {
            // What one VM takes every other takes for the same.
            let again = Config::parse(data);
            assert_eq!(again.as_ref(), Ok(&config));
            assert!((1..=4096).contains(&config.max_keys()));
        }
        // What is shown to a user stays readable, however long the input was.
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
});
