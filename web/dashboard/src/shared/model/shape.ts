export type Shape = 'connected' | 'late' | 'running' | 'restarting' | 'error' | 'disconnected' | 'waiting' | 'put-back';
