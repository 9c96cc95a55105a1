// The stacks that are shown, as text: for files without a controller and processes that are gone.
import {placeOf} from '../../ui/frames';
import {countWords, type Group, type Line, type Seen, type StacksData} from './threads';

function lineText({frame, skipped}: Line): string {
  if (!frame) return `[${skipped} native frames]`;
  return `${frame.module || '?'}!${frame.method || '?'}  ${placeOf(frame)}`.trimEnd();
}

function doingText({wait, members}: Group): string {
  if (!wait) return members[0].thread.state;
  const owner = wait.ownerOsId ? ` held by thread ${wait.ownerOsId}` : '';
  return `waiting: ${[wait.kind, wait.object, wait.type ? `(${wait.type})` : ''].filter(Boolean).join(' ')}${owner}${wait.detail ? `, ${wait.detail}` : ''}`;
}

export function plainText(data: StacksData, seen: Seen[], groups: Group[]): string {
  const out = [`${data.process} (${data.pid}), .NET ${data.runtime} · ${countWords(seen)}`, ...data.notes.map((note) => `note: ${note}`), ''];
  for (const cycle of data.cycles) out.push(`Deadlock: threads ${cycle.join(', ')} are waiting for each other`, '');
  for (const group of groups) {
    out.push(`${group.members.length} × ${doingText(group)}`);
    out.push(`    ${group.members.map(({thread}) => `thread ${thread.osId} "${thread.name}"`).join(', ')}`);
    out.push(...group.lines.map((line) => `    ${lineText(line)}`), '');
  }
  return out.join('\n');
}
