// Pages that also exist as one HTML file with their data inside, by the kind that the file names.
import type {VNode} from 'preact';
import type {Examination, Flame} from '../api/types';
import {DoctorSingle} from './doctor-report';
import {FlameSingle} from './flame';
import {type StacksData, StacksSingle} from './stacks';

export const singles: Record<string, (data: unknown) => VNode> = {
  doctor: (data) => <DoctorSingle data={data as Examination[]} />,
  flame: (data) => <FlameSingle data={data as Flame} />,
  stacks: (data) => <StacksSingle data={data as StacksData} />,
};
