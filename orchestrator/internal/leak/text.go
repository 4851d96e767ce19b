package leak

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"mime"
	"mime/quotedprintable"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"
)

// line is a stretch of text and the line of the file at which it begins.
type line struct {
	number int
	text   string
}

// text returns what people read in a file: all of it, and parts once more as the
// program shows them that the file is for. Lines of a part that is encoded bear
// the number at which it begins. An error says what could not be read; the lines
// are worth a look all the same.
func text(data []byte) ([]line, error) {
	data, err := utf8Of(data)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(data, 0) >= 0 || bytes.HasPrefix(data, []byte("%PDF-")) {
		return nil, errNotText
	}
	lines := []line{{1, string(data)}}
	if !bytes.Contains(data, []byte("=?")) && !transferEncoding().Match(data) {
		return lines, nil
	}
	mail, err := decoded(strings.Split(string(data), "\n"))
	return append(lines, mail...), err
}

// utf8Of turns UTF-16 with its byte order mark into UTF-8.
func utf8Of(data []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return data, nil
	}
	if len(data)%2 != 0 {
		return nil, errNotText
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units))), nil
}

// transferEncoding begins a header of a mail (RFC 2045) after which a body is
// written in base64 or quoted-printable; begins a part is the line between parts.
var (
	transferEncoding = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?im)^content-transfer-encoding:[ \t]*"?(base64|quoted-printable)`)
	})
	base64Line = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9+/]+={0,2}$`) })
)

// decoded returns the words of headers (RFC 2047) and the bodies of a mail that
// are written in another way than they are read. A body that is no text is
// errNotText.
func decoded(raw []string) (out []line, err error) {
	words, encoding, body := mime.WordDecoder{}, "", false
	for i := 0; i < len(raw); i++ {
		text := strings.TrimSuffix(raw[i], "\r")
		if strings.Contains(text, "=?") {
			// A name may go on in the next line of the header.
			header, at := text, i
			for i+1 < len(raw) && raw[i+1] != "" && strings.ContainsRune(" \t", rune(raw[i+1][0])) {
				i++
				header += strings.TrimSuffix(raw[i], "\r")
			}
			if plain, err := words.DecodeHeader(header); err == nil {
				out = append(out, line{at + 1, plain})
			}
			continue
		}
		if m := transferEncoding().FindStringSubmatch(text); m != nil {
			encoding, body = strings.ToLower(m[1]), false
			continue
		}
		if encoding == "" {
			continue
		}
		if !body {
			body = text == ""
			continue
		}
		from := i
		for i < len(raw) && !strings.HasPrefix(raw[i], "--") && (encoding != "base64" || base64Line().MatchString(strings.TrimSpace(raw[i])) || strings.TrimSpace(raw[i]) == "") {
			i++
		}
		part := strings.Join(raw[from:i], "\n")
		if i == from {
			part, i = raw[from], i+1
		}
		plain, failed := decode(encoding, part)
		if failed != nil {
			err = failed
		}
		out = append(out, flat(from+1, plain)...)
		encoding, body = "", false
		i--
	}
	return out, err
}

// flat gives every line of a part the number at which the part begins.
func flat(number int, text string) (out []line) {
	for l := range strings.SplitSeq(text, "\n") {
		out = append(out, line{number, l})
	}
	return out
}

func decode(encoding, part string) (string, error) {
	var from io.Reader = quotedprintable.NewReader(strings.NewReader(part))
	if encoding == "base64" {
		from = base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.Join(strings.Fields(part), "")))
	}
	plain, err := io.ReadAll(from)
	if err == nil {
		plain, err = utf8Of(plain)
	}
	if err != nil || bytes.IndexByte(plain, 0) >= 0 || bytes.HasPrefix(plain, []byte("%PDF-")) {
		return "", errNotText
	}
	return string(plain), nil
}
