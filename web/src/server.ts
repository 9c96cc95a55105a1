// Which server sent the document: a controller, or a fleet server.

export const isFleet = (): boolean => document.documentElement.dataset.server === 'fleet';

export const serverName = (): string => (isFleet() ? 'fleet server' : 'controller');
export const serveCommand = (): string => (isFleet() ? 'clrscope fleet serve' : 'clrscope serve');
