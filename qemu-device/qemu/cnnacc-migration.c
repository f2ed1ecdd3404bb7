/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: migration
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/vmstate.h"
#include "migration/qemu-file-types.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"
#include "trace.h"

static int cnnacc_put_state(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field, JSONWriter *vmdesc)
{
    CnnaccState *s = pv;
    size_t len = cm_device_state_size(s->model);
    g_autofree uint8_t *buf = g_try_malloc0(len);

    if (!buf) {
        error_report("%s: cannot allocate %zu bytes to save the state",
                     cnnacc_id(s), len);
        return -ENOMEM;
    }
    trace_cnnacc_save(cnnacc_id(s), len);
    cnnacc_end_steps(s);
    cm_device_save(s->model, buf);
    qemu_put_be64(f, len);
    qemu_put_buffer(f, buf, len);
    return 0;
}

static int cnnacc_load_state(CnnaccState *s, const uint8_t *buf, size_t len)
{
    char err[CM_ERR_LEN] = "";
    int ret;

    cnnacc_end_steps(s);
    ret = cm_device_load(s->model, buf, len, err);
    s->messages = 0;
    if (ret) {
        error_report("%s: saved state refused: %s", cnnacc_id(s), err);
        return -EINVAL;
    }
    return 0;
}

static int cnnacc_get_state(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field)
{
    CnnaccState *s = pv;
    size_t want = cm_device_state_size(s->model);
    uint64_t len = qemu_get_be64(f);
    g_autofree uint8_t *buf = NULL;

    trace_cnnacc_load(cnnacc_id(s), len);
    if (len != want) {
        error_report("%s: saved state refused: %" PRIu64 " bytes, but these "
                     "cores need %zu", cnnacc_id(s), len, want);
        return -EINVAL;
    }
    buf = g_try_malloc(want);
    if (!buf) {
        error_report("%s: cannot allocate %zu bytes to load the state",
                     cnnacc_id(s), want);
        return -ENOMEM;
    }
    if (qemu_get_buffer(f, buf, want) != want) {
        error_report("%s: saved state refused: it is cut short",
                     cnnacc_id(s));
        return -EINVAL;
    }
    return cnnacc_load_state(s, buf, want);
}

static const VMStateInfo vmstate_info_cnnacc_model = {
    .name = "cnnacc-model",
    .get = cnnacc_get_state,
    .put = cnnacc_put_state,
};

static bool cnnacc_messages_needed(void *opaque)
{
    CnnaccState *s = opaque;

    return s->messages;
}

static int cnnacc_messages_post_load(void *opaque, int version_id)
{
    CnnaccState *s = opaque;
    unsigned int vectors = cm_device_vectors(s->model);

    if (s->messages >> vectors) {
        error_report("%s: saved state refused: held messages 0x%" PRIx32
                     ", but there are %u vectors", cnnacc_id(s), s->messages,
                     vectors);
        s->messages = 0;
        return -EINVAL;
    }
    return 0;
}

/* Messages that were raised while the machine stopped: bit n is vector n */
static const VMStateDescription vmstate_cnnacc_messages = {
    .name = "cnnacc-state/messages",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = cnnacc_messages_needed,
    .post_load = cnnacc_messages_post_load,
    .fields = (CNNACC_VMSTATE_CONST VMStateField[]) {
        VMSTATE_UINT32(messages, CnnaccState),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_cnnacc = {
    .name = "cnnacc-state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (CNNACC_VMSTATE_CONST VMStateField[]) {
        {
            .name = "model",
            .version_id = 1,
            .info = &vmstate_info_cnnacc_model,
            .flags = VMS_SINGLE,
        },
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription *CNNACC_VMSTATE_CONST[]) {
        &vmstate_cnnacc_messages,
        NULL
    }
};
