// Response of GET /api/v1/jobs/{id}/graph: each closure if there are at most 2,000, otherwise a group for each function.

import type { Graph } from 'muster-rest';

type NodesBody = Graph & Required<Pick<Graph, 'nodes' | 'functions' | 'states'>> & { grouped: false };
type GroupsBody = Graph & Required<Pick<Graph, 'groups'>> & { grouped: true };
export type GraphBody = NodesBody | GroupsBody;
