// What GET /api/v1/jobs/{id}/graph answers: each closure up to 2,000 of them, above that one group a function.

import type { Graph } from 'muster-rest';

type NodesBody = Graph & Required<Pick<Graph, 'nodes' | 'functions' | 'states'>> & { grouped: false };
type GroupsBody = Graph & Required<Pick<Graph, 'groups'>> & { grouped: true };
export type GraphBody = NodesBody | GroupsBody;
