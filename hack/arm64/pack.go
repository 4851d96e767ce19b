package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// archive writes a folder as a cpio archive of the "new ASCII" format: for each file a
// header of 110 characters, its name and its content, each padded to 4 bytes. Owners
// are root and times 0.
// Source: Documentation/driver-api/early-userspace/buffer-format.rst of Linux.
func archive(w io.Writer, folder string) error {
	number := 0
	put := func(name string, mode uint32, content []byte) error {
		number++
		head := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
			number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
		text := head + name + "\x00"
		text += strings.Repeat("\x00", -len(text)&3)
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
		_, err := io.WriteString(w, strings.Repeat("\x00", -len(content)&3))
		return err
	}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode.IsDir():
			return put(name, 0o040755, nil)
		case mode&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			return errors.Join(err, put(name, 0o120777, []byte(target)))
		default:
			content, err := os.ReadFile(path)
			return errors.Join(err, put(name, 0o100000|uint32(mode.Perm()), content))
		}
	})
	return errors.Join(err, put("TRAILER!!!", 0, nil))
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// command runs a program in the root of the source.
func command(env []string, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return nil
}
