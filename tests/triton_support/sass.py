"""Machine code written by hand, as the disassembler prints it."""

NO_SCOREBOARD = 7


def line(address, text, *, stall=1, sets=(NO_SCOREBOARD, NO_SCOREBOARD), waits=0):
    """An instruction with its schedule: bits 105 to 121 of 128."""
    high = stall << 41 | sets[0] << 46 | sets[1] << 49 | waits << 52
    return (
        f"        /*{address:04x}*/                   {text} ;    /* 0x00000a00ff017b82 */\n"
        f"                                                        /* 0x{high:016x} */"
    )


def program(*texts, **schedules):
    """Labels (".L_x_0:") and instructions, 16 bytes each; schedules by the name's first letters."""
    lines, address = [], 0
    for text in texts:
        if text.startswith(".L"):
            lines.append(text)
            continue
        schedule = next((s for name, s in schedules.items() if text.startswith(name)), {})
        lines.append(line(address, text, **schedule))
        address += 16
    return "\n".join(lines)
