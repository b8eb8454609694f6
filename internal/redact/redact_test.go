package redact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/redact"
)

func TestString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		secrets []string
		in      string
		want    string
	}{
		{"none known", nil, "token sk-123456", "token sk-123456"},
		{"raw", []string{"sk-123456"}, "token sk-123456.", "token ***."},
		{"twice", []string{"sk-123456"}, "sk-123456 sk-123456", "*** ***"},
		{"adjacent become one", []string{"sk-123456"}, "sk-123456sk-123456", "***"},
		{"almost", []string{"sk-123456"}, "sk-12345", "sk-12345"},
		{"restarts inside a failed match", []string{"aaab"}, "aaaaab", "aa***"},
		{"overlapping secrets go whole", []string{"abcdef", "defghi"}, "xabcdefghix", "x***x"},
		{"the longer of two wins", []string{"abcd", "abcdefgh"}, "abcdefgh", "***"},
		{"three bytes are left", []string{"abc"}, "abc", "abc"},
		{"four bytes are masked", []string{"abcd"}, "abcd", "***"},
		{"white space around is no part", []string{" pa55word\n"}, "[pa55word]", "[***]"},
		{"only white space", []string{" \n\t    "}, "a      b", "a      b"},
		{"lines of a key", []string{"-----BEGIN KEY-----\nMIIEow\nABCDEFGHIJ\n"}, "> ABCDEFGHIJ\n> MIIEow", "> ***\n> MIIEow"},
		{"url-encoded", []string{"p@ss w/rd"}, "?k=p%40ss+w%2Frd&p%40ss%20w%2frd", "?k=***&***"},
		{"url-encoded in part", []string{"p@ss w/rd"}, "p@ss%20w/rd", "***"},
		{"percent in the secret", []string{"100%25%"}, "100%25% 100%2525%25 100%", "*** *** 100%"},
		{"json", []string{"a\"b\\c\n<d>"}, `"a\"b\\c\n<d>" "a\"b\\c\n\u003cd\u003e"`, `"***" "***"`},
		{"json beyond ascii", []string{"pä\U0001f600wort"}, `p\u00e4\ud83d\ude00wort pä😀wort p\u00E4😀wort`, "*** *** ***"},
		{"go beyond ascii", []string{"pä\U0001f600wort"}, `p\u00e4\U0001f600wort p\u00e4\U0001f601wort`, `*** p\u00e4\U0001f601wort`},
		{"half a surrogate pair", []string{"pä\U0001f600wort"}, `p\u00e4\ud83dwort`, `p\u00e4\ud83dwort`},
		{"go-escaped", []string{"\x01abc\xff"}, `"\x01abc\xff"`, `"***"`},
		{"base64 alone", []string{"user:pass"}, "Basic dXNlcjpwYXNz", "Basic ***"},
		{"base64 padded", []string{"secret-1"}, "c2VjcmV0LTE= c2VjcmV0LTE", "*** ***"},
		{"base64 url alphabet", []string{"\xfb\xff\xfe\xfa"}, "-__--g -__--g== +//++g==", "*** *** ***"},
		{"base64, then url-encoded", []string{"secret-1"}, "c2VjcmV0LTE%3D", "***"},
		{"base64 of xsecret-1x", []string{"secret-1"}, "eHNlY3JldC0xeA==", "eH***eA=="},
		{"base64 in lines", []string{"0123456789"}, "MDEyMz\nQ1Njc4\r\nOQ==", "***"},
		{"lines are no secret", []string{"abcdef"}, "abc\ndef", "abc\ndef"},
		{"json slash", []string{"a/b/c/d"}, `a\/b\/c\/d`, "***"},
		{"quoted for a shell", []string{"it's me"}, `'it'\''s me' it\'s\ me`, "'***' ***"},
		{"half a quote", []string{"it's me"}, `it'\'s me`, `it'\'s me`},
		{"userinfo of the web", nil, "GET https://u:p@h/x http://ghp_1@h", "GET https://***@h/x http://***@h"},
		{"userinfo with an at sign", nil, "https://u:p@ss@h/x", "https://***@h/x"},
		{"no userinfo", nil, "http://h:80/x@y https://h", "http://h:80/x@y https://h"},
		{"user of ssh", nil, "ssh://root@h:22 ssh://root:pw@h", "ssh://root@h:22 ssh://root:***@h"},
		{"password without a user", nil, "redis://:pw@h", "redis://:***@h"},
		{"longest userinfo", nil, "http://" + strings.Repeat("u", 256) + "@h", "http://***@h"},
		{"host after a second colon", nil, "tcp://h:80:90@", "tcp://h:***@"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := redact.New(tt.secrets...).String(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("String (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsSecretName(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"API_KEY": true, "cube_api_key": true, "AuthToken": true, "SECRET": true, "db.password": true,
		"AWS_CREDENTIALS": true, "PATH": false, "": false, "KE_Y": false, "PASS": false,
	}
	for name, want := range tests {
		if got := redact.IsSecretName(name); got != want {
			t.Errorf("IsSecretName(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, value, want string }{
		{"API_KEY", "x", "***"},
		{"API_KEY", "", ""},
		{"PATH", "/bin", "/bin"},
		{"PIP_INDEX_URL", "https://u:p@h/simple", "https://***@h/simple"},
	}
	for _, tt := range tests {
		if got := redact.Named(tt.name, tt.value); got != tt.want {
			t.Errorf("Named(%q, %q) = %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}
