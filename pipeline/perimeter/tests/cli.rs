//! The command line as `tests/cli/*.md` shows it: arguments, what is printed where, exit codes.
#[test]
fn commands_do_what_the_transcripts_show() {
    trycmd::TestCases::new().case("../../tests/cli/*.md").default_bin_name("perimeter");
}
