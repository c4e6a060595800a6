#!/bin/sh
echo ok all
