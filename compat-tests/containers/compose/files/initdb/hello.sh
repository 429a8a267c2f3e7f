#!/bin/bash
echo the-script-ran
