/*
 * kraftlog: a replicated commit log in a library. This header includes the
 * others; kraftlog(7) is the way in.
 */
#ifndef KRAFTLOG_KRAFTLOG_H
#define KRAFTLOG_KRAFTLOG_H

#include <kraftlog/admin.h>
#include <kraftlog/client.h>
#include <kraftlog/config.h>
#include <kraftlog/consumer.h>
#include <kraftlog/error.h>
#include <kraftlog/export.h>
#include <kraftlog/inspect.h>
#include <kraftlog/node.h>
#include <kraftlog/op.h>
#include <kraftlog/producer.h>
#include <kraftlog/record.h>
#include <kraftlog/storage.h>
#include <kraftlog/transport.h>
#include <kraftlog/version.h>

#endif
