#!/bin/sh
# Writes the main program of a test runner: runner.sh suite_base_map ...
# Each argument is the name of a function that returns a Check suite.
echo '#include <check.h>'
echo '#include <stdlib.h>'
echo
for suite; do
    echo "Suite *$suite(void);"
done
cat <<'END'

int main(void)
{
    SRunner *runner = srunner_create(NULL);
    int failed;

END
for suite; do
    echo "    srunner_add_suite(runner, $suite());"
done
cat <<'END'
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
END
