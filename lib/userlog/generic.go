package userlog

// Generic is event 008: a text of some program, the job itself perhaps.
type Generic struct {
	Text string
}

// Unknown is an event of a kind that the package does not know, or one whose
// words are not those of its kind.
type Unknown struct {
	Number int
	Lines  []string // the first is what stands behind the time
}

func (Generic) number() int   { return 8 }
func (u Unknown) number() int { return u.Number }

func (g Generic) appendTo(b []byte) []byte { return appendText(b, "", g.Text, "") }

func readGeneric(head string, _ *lines) Body { return Generic{head} }

func (u Unknown) appendTo(b []byte) []byte {
	if len(u.Lines) == 0 {
		return append(b, '\n')
	}
	return appendLines(appendText(b, "", u.Lines[0], ""), "", u.Lines[1:])
}

// kinds read the bodies of the events that the package knows, by their number,
// from the text behind the time and the lines after that. They return nil when
// that is nothing of the kind.
var kinds = map[int]func(head string, l *lines) Body{
	0: readSubmitted, 1: readExecuting, 2: readExecutableError, 3: readCheckpointed,
	4: readEvicted, 5: readTerminated, 6: readImageSize, 7: readShadowException, 8: readGeneric,
	9: readAborted, 10: readSuspended, 11: readUnsuspended, 12: readHeld,
	13: readReleased, 21: readRemoteError, 22: readDisconnected,
	23: readReconnected, 24: readReconnectFailed, 28: readAdInformation,
	33: readAttributeChanged, 35: readClusterSubmitted, 36: readClusterRemoved,
	37: readFactoryPaused, 38: readFactoryResumed, 40: readFileTransfer,
}

// readBody returns the body of an event and the lines that are no part of it.
func readBody(number int, head string, rest []string) (Body, []string) {
	l := &lines{rest}
	if read := kinds[number]; read != nil {
		if body := read(head, l); body != nil {
			return body, l.rest
		}
	}
	return Unknown{number, append([]string{head}, rest...)}, nil
}
