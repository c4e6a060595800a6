package sealpass

import "testing"

func TestVerify(t *testing.T)        {}
func TestVerifyRefuses(t *testing.T) {}
func TestTimes(t *testing.T)         {}
func TestInspect(t *testing.T)       {}
