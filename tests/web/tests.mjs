// All tests of the pages; each is a sentence and a function of the world.
import {foreignTests} from './foreign.mjs';
import {insideTests} from './inside.mjs';
import {liveTests} from './live.mjs';
import {shellTests} from './shell.mjs';
import {viewerTests} from './viewer.mjs';
import {workTests} from './work.mjs';

export const tests = [...shellTests, ...workTests, ...viewerTests, ...liveTests, ...insideTests, ...foreignTests];
