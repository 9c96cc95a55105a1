// The processes that can be chosen, for the picker and for pages about one process.
import {createContext} from 'preact';
import {useContext} from 'preact/hooks';
import type {Answer} from '../api/answer';
import type {ProcessInfo, Status} from '../api/types';

export interface FrameData {
  processes: Answer<ProcessInfo[]>;
  status: Answer<Status>;
}

export const FrameContext = createContext<FrameData>({
  processes: {at: 0, isLoading: true, refresh: () => {}},
  status: {at: 0, isLoading: true, refresh: () => {}},
});

export const useProcesses = (): Answer<ProcessInfo[]> => useContext(FrameContext).processes;
export const useStatus = (): Answer<Status> => useContext(FrameContext).status;

// What a program was given, without the words of "dotnet" that start it.
function argumentsOf(commandLine: string): string[] {
  const [program, ...words] = commandLine.split(/\s+/);
  const assembly = /(^|\/)dotnet$/.test(program) ? words.findIndex((one) => one.endsWith('.dll')) : -1;
  return words.slice(assembly + 1);
}

// "samples sick (25337)": the name, the first argument if there is one, the pid.
export function processLabel(process: Pick<ProcessInfo, 'name' | 'commandLine' | 'pid'>): string {
  const word = argumentsOf(process.commandLine).find((one) => one && !one.startsWith('-') && !one.includes('/'));
  const short = word && word.length <= 24 ? ` ${word}` : '';
  return `${process.name}${short} (${process.pid})`;
}

// Whether the caller may do what needs that scope; true while it is not known.
export function useScope(scope: string): boolean {
  const {data} = useStatus();
  return !data?.caller || data.caller.scopes.includes(scope) || data.caller.scopes.includes('admin');
}
