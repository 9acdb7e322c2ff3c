#![no_main]

//! A line is read, whatever it is, by the grammar and without it.

libfuzzer_sys::fuzz_target!(|line: &str| {
    let _ = command_lines::read(line);
    let _ = command_lines::lex(line);
    let _ = command_lines::every_command(line);
});
