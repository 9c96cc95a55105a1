// A gRPC server without any service; prints its port.
import grpc from '@grpc/grpc-js';

const server = new grpc.Server();
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => console.log(port));
