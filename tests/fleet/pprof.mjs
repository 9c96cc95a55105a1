// Reads a pprof file with the decoder of another project and prints it as JSON: value types, comments, and of each sample the
// functions from the root to the leaf and its values.
//
//   node pprof.mjs FILE
import {readFileSync} from 'node:fs';
import {gunzipSync} from 'node:zlib';
import {Profile} from 'pprof-format';

const profile = Profile.decode(gunzipSync(readFileSync(process.argv[2])));
const text = (at) => profile.stringTable.strings[Number(at)];
const functions = new Map(profile.function.map((one) => [Number(one.id), text(one.name)]));
const locations = new Map(profile.location.map((one) => [Number(one.id), functions.get(Number(one.line[0].functionId))]));
console.log(
  JSON.stringify({
    types: profile.sampleType.map((one) => [text(one.type), text(one.unit)]),
    standard: text(profile.defaultSampleType),
    mapping: profile.mapping.map((one) => [text(one.filename), one.hasFunctions]),
    comments: profile.comment.map(text),
    timeNanos: String(profile.timeNanos),
    durationNanos: String(profile.durationNanos),
    samples: profile.sample.map((one) => ({stack: one.locationId.map((id) => locations.get(Number(id))).reverse(), values: one.value.map(Number)})),
  }),
);
