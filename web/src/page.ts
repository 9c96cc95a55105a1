// What a page of the app is. Pages are listed in pages/index.ts: one file and one line each.
import type {ComponentType} from 'preact';
import type {ProcessInfo} from './api/types';

// Where a page stands in the rail.
export type Group = 'process' | 'views' | 'server' | 'fleet';

export interface PageProps {
  pid: number; // chosen process; 0 on pages that are not about one
  process?: ProcessInfo; // undefined while the list is unknown, and after the process has exited
  values: Record<string, string>; // of the {braces} in the path
}

export interface Page {
  path: string; // address below the base path; also the data route of the same content, where there is one
  title: string;
  group: Group;
  Content: ComponentType<PageProps>;
  about?: 'process'; // needs a process: the frame asks for one while the address names none
  key?: string; // "g" and this letter open the page
  scope?: string; // scope without which the page shows nothing
  isHidden?: boolean; // not in the rail: opened by links only
  parent?: string; // of a hidden page: the path of the page that the rail marks instead
}
