// What GET /api/v1/jobs/{id}/graph answers: each closure up to 2,000 of them, above that one group a function.

import type { Counts } from './counters-protocol';

export interface NodesBody {
  grouped: false;
  nodes: { index: number[]; closure: string[]; function: number[]; state: number[] };
  functions: string[];
  states: string[];
  edges: [number, number][]; // positions in nodes: the second needs the first
}
export interface GroupsBody {
  grouped: true;
  groups: { function: string; counts: Counts }[];
  edges: [number, number, number][]; // positions in groups, and how many
}
// Beside either: whether the server looked at all closures in its time, and how many of them it looked at.
export interface Looked {
  looked_at: number;
  of: number;
  complete?: boolean;
}
export type GraphBody = (NodesBody | GroupsBody) & Looked;
