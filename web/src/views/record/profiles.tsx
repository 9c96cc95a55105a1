// What to record: what fits best, or one of the profiles.
import type {TraceProfile} from '../../api/types';

export const kBest = ''; // runtime events, and CPU samples where they may be had

// What a recording of that profile is of, as in "Record 5 s of CPU".
export function subjectOf(profile: string): string {
  switch (profile) {
    case kBest:
    case 'cpu-sampling':
      return 'CPU';
    case 'thread-time':
    case 'dotnet-sampled-thread-time':
      return 'CPU and waits';
    case 'gc-verbose':
    case 'gc-collect':
      return 'garbage collections';
    case 'database':
      return 'database calls';
    case 'http':
      return 'HTTP calls';
    case 'tasks':
      return 'tasks';
    case 'dotnet-common':
      return 'runtime events';
    default:
      return profile;
  }
}

export function hasFlameGraph(profile: string, all: TraceProfile[]): boolean {
  if (profile === kBest || profile === 'dotnet-sampled-thread-time') return true;
  return all.find((one) => one.name === profile)?.kernel !== 'nothing';
}

export function Profiles({profiles, chosen, onChoose}: {profiles: TraceProfile[]; chosen: string; onChoose: (name: string) => void}) {
  const all = [{name: kBest, title: 'default', summary: 'CPU samples of the kernel where permitted, garbage collections, exceptions, locks'}, ...profiles.map(({name, summary}) => ({name, title: name, summary}))];
  const isKnown = all.some((one) => one.name === chosen);
  return (
    <fieldset class="profiles">
      <legend>What to record</legend>
      {(isKnown ? all : [...all, {name: chosen, title: chosen, summary: ''}]).map((one) => (
        <label key={one.name}>
          <input type="radio" name="profile" value={one.name} checked={one.name === chosen} onChange={() => onChoose(one.name)} />
          <b>{one.title}</b> <span class="dim">{one.summary}</span>
        </label>
      ))}
    </fieldset>
  );
}
