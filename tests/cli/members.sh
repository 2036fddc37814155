#!/usr/bin/env bash
# Models of trees and of several members: predict, export, and files that are wrong.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cat >model.json <<'JSON'
{"format": "priorboost-model", "version": 2, "family": "linear", "unseen": "baseline",
 "features": [{"name": "age", "fill": 40.0}, {"name": "sex", "levels": ["f", "m"], "fill": "f"}],
 "columns": ["age", "sex=m"],
 "members": [{"kind": "constant", "weight": 0.5, "intercept": 8},
             {"kind": "trees", "weight": 0.5, "intercept": 1, "trees": [
              {"column": [0, -1, 1, -1, -1], "right": [2, 0, 4, 0, 0], "value": [30, 10, 0, 20, 40],
               "missing_left": [1, 0, 0, 0, 0], "left_codes": [0, 0, 1, 0, 0], "codes": [1]}]}]}
JSON
printf 'age,sex,y\n30,f,1\n31,m,2\n31,f,3\n,m,4\n50,x,5\n50,,6\n' >data.csv

# (8 + 1 + leaf) / 2: leaves 10, 20, 40; a missing age goes left, a missing or unseen sex right
expect 0 priorboost predict --model model.json --data data.csv
[ "$(tail -n +2 stdout | tr '\n' ' ')" = "9.5 14.5 24.5 9.5 24.5 24.5 " ] || fail "predictions"
says 'counts as the first level (for trees: as missing)'
expect 3 priorboost predict --model model.json --data data.csv --interval
says 'trees and means of several models have no intervals'

# residuals 8.5, 12.5, 21.5, 5.5, 19.5, 18.5; the sums are 107 and 21
expect 0 priorboost evaluate --model model.json --data data.csv --label y --report page.html --json
within 240.583 240.584 "$(field mse)"
within 5.095 5.096 "$(field calibration.ratio)"
within 14.33 14.34 "$(field calibration.ece)"
[ "$(field calibration.groups.0.rows)" = 2 ] || fail 'equal predictions are not one group'
grep -q 'id="calibration"' page.html || fail 'no chart of calibration'
expect 0 priorboost evaluate --model model.json --data data.csv --label y --report chart.svg
printed 'ece        14.3333'
grep -q '^<svg' chart.svg || fail 'no chart'

# ---- files that are wrong: file, member and tree are named ----
wrong() { sed "s/$1/$2/" model.json >wrong.json; expect 3 priorboost predict --model wrong.json --data data.csv; }
wrong '"version": 2' '"version": 3'
says 'version 3 is newer than this program understands (2); use a newer priorboost'
wrong '"weight": 0.5' '"weight": 0.6'
says 'wrong.json: the weights of the members sum to 1.2'
wrong '"right": \[2, 0, 4' '"right": [2, 0, 0'
says 'wrong.json: member 2, tree 1: "right" of node 2 is 0'
wrong '"kind": "trees"' '"kind": "neurons"'
says "wrong.json: member 2: kind of member 'neurons' is unknown; it must be one of constant, glm"
wrong '"column": \[0' '"column": [2'
says 'member 2, tree 1: "column" of node 0'

# ---- export; python/tests/test_onnx.py runs what it writes ----
expect 0 priorboost export model.json model.onnx
[ -s model.onnx ] || fail 'no model.onnx'
expect 0 priorboost export model.json -
cmp -s stdout model.onnx || fail 'standard output differs from the file'
expect 0 priorboost export model.json model.onnx --json
[ "$(field out)" = model.onnx ] || fail 'the field out'
expect 2 priorboost export model.json
says 'two files are needed'
expect 2 priorboost export model.json model.pmml
says "'model.pmml' does not end in .onnx"
expect 2 priorboost export model.json - --json
says 'both write to standard output'
expect 3 priorboost export data.csv other.onnx
says 'data.csv:1: not a model file'
no_file other.onnx
expect 1 priorboost export model.json none/model.onnx
says 'none/model.onnx'
sed 's/"age"/"prediction"/g' model.json >taken.json
expect 3 priorboost export taken.json taken.onnx
says "a column of the model is named 'prediction'"
no_file taken.onnx
finish
