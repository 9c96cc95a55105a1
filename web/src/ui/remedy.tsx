// What the API advises to do next, as links to pages; what no page can do is shown as the command.
import type {Remedy} from '../api/types';
import {addressOf, type Query} from '../frame/router';
import {CopyButton} from './copy-button';

const kProfileWords: Record<string, string> = {
  'cpu-sampling': 'Record CPU',
  'thread-time': 'Record waits',
  'gc-verbose': 'Record allocations',
  'gc-collect': 'Record garbage collections',
};

interface Place {
  words: string;
  path: string;
  query: Query;
}

// The page that does what the remedy says; undefined if there is none.
export function placeOf({verb, options}: Remedy, pid: number): Place | undefined {
  const of = Number(options.pid) || pid || undefined;
  if (options['diagnostic-port'] !== undefined) return undefined;
  switch (verb) {
    case 'collect':
      return {words: kProfileWords[options.profile] ?? (options.profile ? `Record ${options.profile}` : 'Record'), path: '/record', query: {pid: of, profile: options.profile}};
    case 'top':
      return {words: 'Record CPU', path: '/record', query: {pid: of, profile: 'cpu-sampling'}};
    case 'stacks': {
      if (options.async !== undefined) return {words: 'See the async stacks', path: '/stacks', query: {pid: of, view: 'async'}};
      const isNative = options.native !== undefined;
      return {words: isNative ? 'See the stacks with native frames' : 'See the stacks', path: '/stacks', query: {pid: of, native: isNative ? 'true' : undefined}};
    }
    case 'report':
    case 'flame':
      return {words: 'Open a recording', path: '/recordings', query: {pid: of}};
    case 'counters':
      return {words: 'See the counters', path: '/counters', query: {pid: of}};
    case 'doctor':
      return {words: 'Ask the doctor', path: '/doctor', query: {pid: of, only: options.only, seconds: /^\d+s$/.exec(options.duration ?? '') ? options.duration.slice(0, -1) : undefined}};
    case 'heap':
      return {words: 'See the heap', path: '/heap', query: {pid: of}};
    case 'dump':
      return options.type === 'heap' ? {words: 'See the heap', path: '/heap', query: {pid: of}} : undefined;
    case 'requests':
      return {words: 'Profile requests', path: '/views/requests', query: {pid: of, tab: 'profile', include: options.include}};
    case 'check':
      return {words: 'Check what works', path: '/check', query: {pid: of}};
    case 'ps':
      return {words: 'See all processes', path: '/', query: {}};
    default:
      return undefined;
  }
}

const quoted = (word: string): string => (/^[\w.,:=/@%+-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`);

export function commandOf({verb, options}: Remedy): string {
  const words = Object.entries(options).map(([name, value]) => {
    const option = name === 'pid' ? '-p' : `--${name}`;
    return value === '' ? option : `${option} ${quoted(value)}`;
  });
  return ['clrscope', verb, ...words].join(' ');
}

// `asText`: always as a command, for files that know no server.
export function RemedyLink({remedy, pid = 0, asText = false}: {remedy: Remedy; pid?: number; asText?: boolean}) {
  const place = asText ? undefined : placeOf(remedy, pid);
  if (place)
    return (
      <a class="button" href={addressOf(place.path, place.query)}>
        {place.words}
      </a>
    );
  const command = commandOf(remedy);
  return (
    <span class="command">
      <code>{command}</code> <CopyButton text={command} what="the command" />
    </span>
  );
}

export function Remedies({remedies, pid, asText}: {remedies?: Remedy[]; pid?: number; asText?: boolean}) {
  if (!remedies?.length) return null;
  return (
    <div class="bar remedies">
      {remedies.map((one) => (
        <RemedyLink key={JSON.stringify(one)} remedy={one} pid={pid} asText={asText} />
      ))}
    </div>
  );
}
