package buildctx_test

import "errors"

func mountTmpfs(string) error { return errors.ErrUnsupported }
