package term

import "testing"

func TestModes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, shown, want string }{
		{"text", "hello [?25l\n", ""},
		{"colours", "\x1b[31mred", "\x1b>\x1b[0m"},
		{"full screen", "\x1b[?1049h\x1b[?1h\x1b=\x1b[?25l", "\x1b[?25h\x1b[?1l\x1b[?1049l\x1b>\x1b[0m"},
		{"taken back", "\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l", "\x1b>\x1b[0m"},
		{"several at once", "\x1b[?1000;1006h\x1b[?1000l", "\x1b[?1006l\x1b>\x1b[0m"},
		{"shown is as it was", "\x1b[?25h\x1b[?7h", "\x1b>\x1b[0m"},
		{"cut off by another", "\x1b[?20\x1b[?2004h", "\x1b[?2004l\x1b>\x1b[0m"},
		{"not private", "\x1b[4h\x1b[?4$p", "\x1b>\x1b[0m"},
		{"empty and huge", "\x1b[?h\x1b[?99999999999999999999h\x1b[?;5h", "\x1b[?5l\x1b>\x1b[0m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var m modes
			for _, b := range []byte(test.shown) { // split anywhere
				m.watch([]byte{b})
			}
			if got := m.undo(); got != test.want {
				t.Errorf("undo: %q, want %q", got, test.want)
			}
		})
	}
}

// FuzzModes: what is shown is foreign; undoing it twice does nothing more.
func FuzzModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[?25l"))
	f.Add([]byte("\x1b[?1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23;24h"))
	f.Fuzz(func(t *testing.T, shown []byte) {
		var m modes
		m.watch(shown)
		if len(m.changed) > longest || len(m.pending) > longest {
			t.Fatalf("%d changed, %d pending", len(m.changed), len(m.pending))
		}
		m.undo()
		if got := m.undo(); got != "" && got != "\x1b>\x1b[0m" {
			t.Fatalf("undone twice: %q", got)
		}
	})
}
