package cmd

// explain gives the exit code and the next step for an error of a stage.
// It is the one place where errors become advice.
func explain(err error) (code int, hint string) {
	return exitFailed, ""
}
