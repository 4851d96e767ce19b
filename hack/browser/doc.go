// Package browser holds the tests that open report.html in a real browser:
// headless Chromium, driven over its DevTools protocol, and axe-core for what
// people with a keyboard or a screen reader meet. `make test` fetches both
// (setup.sh).
package browser
