#!/bin/bash
# SPDX-License-Identifier: MIT
# Rules of the tree: licences, function length, include directions.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/rules.sh"
cd "$top" || exit 1

tap_silent "every file has an SPDX line" rule_spdx
tap_silent "every part has its licence" rule_licences
tap_silent "no function is over 60 lines" rule_function_length
tap_silent "no line of the model is over 100 columns" rule_columns
tap_silent "no includes across rooms" rule_includes
tap_silent "no unfinished marks" rule_marks
tap_done
