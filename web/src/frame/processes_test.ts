import {equal} from 'node:assert/strict';
import {test} from 'node:test';
import {processLabel} from './processes';

const label = (name: string, commandLine: string): string => processLabel({name, commandLine, pid: 7});

test('a label has the first argument of the program, not of dotnet', () => {
  equal(label('samples', '/opt/samples sick --seconds 5'), 'samples sick (7)');
  equal(label('Shop.Api', 'dotnet Shop.Api.dll'), 'Shop.Api (7)');
  equal(label('Shop.Api', '/usr/bin/dotnet exec --runtimeconfig a.json /app/Shop.Api.dll import --all'), 'Shop.Api import (7)');
  equal(label('tool', '/opt/tool check x.dll deep'), 'tool check (7)');
  equal(label('idle', 'idle'), 'idle (7)');
});
