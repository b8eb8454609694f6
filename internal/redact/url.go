package redact

import "regexp"

// userinfoLimit is the longest userinfo, in bytes, that is looked for. It
// bounds what a Writer holds back for an address that is still arriving.
const userinfoLimit = 256

var (
	// In web addresses a lone user name may be a token, so all of the
	// userinfo goes.
	webUserinfo = regexp.MustCompile(`(tps?://)[^\s/?#"'<>]{1,256}@`)
	// In others, such as ssh://root@host, the user name is what people need
	// to see; only a password goes.
	password = regexp.MustCompile(`(://[^\s/?#@:"'<>]{0,256}:)[^\s/?#"'<>]{1,256}@`)
)

// URL masks the userinfo of every address in s: all of it in http, https and
// ftp addresses, the password alone in others. Text without an address
// returns unchanged.
func URL(s string) string {
	s = webUserinfo.ReplaceAllString(s, "${1}"+Mask+"@")
	return password.ReplaceAllString(s, "${1}"+Mask+"@")
}
