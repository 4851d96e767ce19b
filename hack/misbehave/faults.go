package misbehave

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"time"
)

// Hang never answers: the request stands until the client gives up.
func Hang() Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		})
	}
}

// Slow answers after a while.
func Slow(wait time.Duration) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(wait):
				next.ServeHTTP(w, r)
			}
		})
	}
}

// Stall sends half of the answer and then nothing more.
func Stall() Fault {
	return half(func(r *http.Request) { <-r.Context().Done() })
}

// Cut sends half of the answer and breaks the connection.
func Cut() Fault {
	return half(func(*http.Request) { panic(http.ErrAbortHandler) })
}

// half sends the first half of what next answers, with the length of the whole
// in its header, and then does what it is told.
func half(then func(*http.Request)) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := record(next, plain(r))
			copyHeader(w, answer)
			w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
			_ = http.NewResponseController(w).Flush()
			then(r)
		})
	}
}

// Reset breaks the connection without an answer.
func Reset() Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	}
}

// Unauthorized is what a server says to a token that has expired.
func Unauthorized() Fault {
	return refuse(http.StatusUnauthorized, "Unauthorized", "Unauthorized", nil)
}

// Forbid is what a server says where no role grants the request.
func Forbid() Fault {
	return refuse(http.StatusForbidden, "Forbidden", "forbidden: no role grants it", nil)
}

// Expire answers the pages of a list after the first with 410, as a server
// does whose history no longer reaches back to when the list began. Like a
// real one it gives no token with which the list could go on inconsistently.
func Expire() Fault {
	return On(Continued, refuse(http.StatusGone, "Expired",
		"The provided continue parameter is too old to display a consistent list result.", nil))
}

// TooMany answers the first times requests with 429 and asks to come back
// after some seconds; each, when times is negative.
func TooMany(times, seconds int) Fault {
	return First(times, refuse(http.StatusTooManyRequests, "TooManyRequests",
		"the server has received too many requests and has asked us to try again later",
		http.Header{"Retry-After": {strconv.Itoa(seconds)}}))
}

// InternalError is a server that fails.
func InternalError() Fault {
	return refuse(http.StatusInternalServerError, "InternalError", "Internal error occurred: etcdserver: request timed out", nil)
}

// BadGateway is what a load balancer says when there is no server behind it: a
// page, and not an object of the API.
func BadGateway() Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html><body><h1>502 Bad Gateway</h1></body></html>\n")
		})
	}
}

// Garbage is an answer that says that it is JSON, and is not.
func Garbage() Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"List","items":[{"metadata":`)
		})
	}
}

// First is a fault that ends after so many requests, which count from when it
// was told; it does not end when times is negative.
func First(times int, fault Fault) Fault {
	return func(next http.Handler) http.Handler {
		var met atomic.Int64
		broken := fault(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if times < 0 || met.Add(1) <= int64(times) {
				broken.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// After is a fault that begins after so many requests.
func After(times int, fault Fault) Fault {
	return func(next http.Handler) http.Handler {
		var met atomic.Int64
		broken := fault(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if met.Add(1) > int64(times) {
				broken.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// refuse answers with a Status as apimachinery's NewGenericServerResponse
// writes it.
func refuse(code int, reason, message string, header http.Header) Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range header {
				w.Header()[k] = v
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(map[string]any{
				"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{},
				"status": "Failure", "reason": reason, "message": message, "code": code,
			})
		})
	}
}

// record is what next answers, whole.
func record(next http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	return answer
}

func copyHeader(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for k, v := range answer.Header() {
		w.Header()[k] = v
	}
}
