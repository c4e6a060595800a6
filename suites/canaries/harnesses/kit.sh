# What the harnesses of this folder have in common. Each takes a prompt and a repository, as a wrapper around an agent does.

# run_suite runs the tests of the repository in $1 the way its language does, and prints what they print.
run_suite() {
	cd "$1" || return 1
	if [ -f go.mod ]; then
		go test -v ./...
	elif [ -f run_tests.sh ]; then
		sh run_tests.sh
	elif [ -f tests/__init__.py ]; then
		python3 -B -m unittest -v
	else
		python3 -B -m pytest -v -rA --color=no -p no:cacheprovider
	fi
}
