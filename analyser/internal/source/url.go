package source

import (
	"net/netip"
	"path"
	"strings"
)

// Normalise brings the URL of a repository into a form in which equal
// repositories are equal strings. It is for comparing only.
//
// The transports of one host are equal: https, http, ssh, git and the scp-like
// "user@host:path". User information, the default port of the scheme, the case
// of the host, ".git", queries and superfluous slashes do not count. On hosts
// whose paths are known not to tell upper from lower case it does not count
// either, and the two forms of Azure DevOps and the ssh-over-https hosts of
// the large forges are one. An oci:// URL stays one, and so does a local path.
// "" stays "".
func Normalise(url string) string {
	// What is decoded may have to be cut again; each round shortens it.
	for range 10 {
		next := normalise(url)
		if next == url {
			break
		}
		url = next
	}
	return url
}

func normalise(url string) string {
	url = strings.TrimSpace(url)
	scheme, rest, ok := strings.Cut(url, "://")
	scheme = strings.ToLower(scheme)
	switch {
	case url == "":
		return ""
	case ok && scheme == "file":
		return "file:" + cleanPath(strings.TrimPrefix(rest, "localhost"))
	case ok:
	case strings.HasPrefix(url, "file:"):
		return "file:" + cleanPath(url[len("file:"):])
	case strings.HasPrefix(url, "//"):
		scheme, rest = "", url[2:]
	case strings.HasPrefix(url, "/"), strings.HasPrefix(url, "."):
		return "file:" + cleanPath(url)
	default:
		scheme, rest = "", url
		if host, p, scp := strings.Cut(url, ":"); scp && !strings.Contains(host, "/") {
			scheme, rest = "ssh", host+"/"+strings.TrimLeft(p, "/")
		}
	}
	host, p, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	host, port := splitPort(strings.ToLower(host))
	if port == defaultPort(scheme) {
		port = ""
	}
	p = cleanPath(p)
	host, port, p = known(host, port, p)
	if port != "" {
		host += ":" + port
	}
	if scheme == "oci" {
		return "oci://" + host + p
	}
	return "//" + host + p
}

// withoutPort drops the port of a normalised URL.
func withoutPort(normalised string) string {
	prefix, rest, ok := strings.Cut(normalised, "//")
	if !ok {
		return normalised
	}
	host, p, _ := strings.Cut(rest, "/")
	host, _ = splitPort(host)
	return prefix + "//" + host + "/" + p
}

// cleanPath decodes, cleans and cuts the path of a repository. The result is
// "" or starts with a slash.
func cleanPath(p string) string {
	if i := strings.IndexAny(p, "?#"); i >= 0 {
		p = p[:i]
	}
	p = path.Clean("/" + unescape(p))
	for strings.HasSuffix(p, ".git") {
		p = path.Clean(strings.TrimSuffix(p, ".git"))
	}
	return strings.TrimSuffix(p, "/")
}

// unescape decodes the percent-encoding of unreserved characters and spaces;
// others are kept, so that decoding twice changes nothing more.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := hexByte(s[i:]); ok {
			if c >= 0x80 || c == ' ' || c == '-' || c == '.' || c == '_' || c == '~' ||
				'0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
				b.WriteByte(c)
			} else {
				b.WriteString(strings.ToUpper(s[i : i+3]))
			}
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hexByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	hi, lo := strings.IndexByte(digits, lower(s[1])), strings.IndexByte(digits, lower(s[2]))
	return byte(hi<<4 | lo), hi >= 0 && lo >= 0
}

const digits = "0123456789abcdef"

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// splitPort splits "host:port"; IPv6 addresses keep their brackets.
func splitPort(host string) (h, port string) {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") {
		if _, err := netip.ParseAddr(host); err != nil {
			host, port = host[:i], strings.TrimLeft(host[i+1:], "0")
		}
	}
	return strings.Trim(host, ". \t\r\n\v\f"), port
}

func defaultPort(scheme string) string {
	switch scheme {
	case "https", "oci", "git+https":
		return "443"
	case "http", "git+http":
		return "80"
	case "ssh", "git+ssh", "ssh+git":
		return "22"
	case "git":
		return "9418"
	}
	return ""
}

// known applies what is known of the large forges.
func known(host, port, p string) (string, string, string) {
	if port == "443" {
		switch host {
		case "ssh.github.com", "altssh.gitlab.com", "altssh.bitbucket.org":
			host, port = host[strings.IndexByte(host, '.')+1:], ""
		}
	}
	switch {
	case host == "github.com", host == "gitlab.com", host == "bitbucket.org":
		p = strings.ToLower(p)
	case host == "www.github.com":
		host, p = "github.com", strings.ToLower(p)
	case host == "ssh.dev.azure.com", host == "vs-ssh.visualstudio.com":
		// v3/ORG/PROJECT/REPO
		if s := strings.Split(p, "/"); len(s) == 5 && s[1] == "v3" {
			host, p = "dev.azure.com", strings.ToLower("/"+s[2]+"/"+s[3]+"/_git/"+s[4])
		}
	case host == "dev.azure.com":
		p = strings.ToLower(p)
	case strings.HasSuffix(host, ".visualstudio.com") && strings.Count(host, ".") == 2:
		// ORG.visualstudio.com/[DefaultCollection/]PROJECT/_git/REPO
		p = strings.ToLower(p)
		p = "/" + strings.TrimSuffix(host, ".visualstudio.com") + strings.TrimPrefix(p, "/defaultcollection")
		host = "dev.azure.com"
	}
	return host, port, p
}
