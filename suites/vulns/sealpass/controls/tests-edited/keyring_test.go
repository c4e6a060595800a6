package sealpass

import "testing"

func TestParseKeyring(t *testing.T)        {}
func TestParseKeyringRefuses(t *testing.T) {}
func TestIssueRefuses(t *testing.T)        {}
